/** The API's process. */
import { runApi } from './run-api.ts';

await runApi(process.env);
