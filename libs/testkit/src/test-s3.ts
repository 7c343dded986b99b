import { borrowService } from './borrow-service.ts';
import type { TestS3 } from './s3-service.ts';

/**
 * The S3 endpoint of this test run, with its bucket. It is shared: keep apart by artifact scopes or key prefixes.
 *
 * @throws Error when there is none to be had, with the reason.
 */
export async function testS3(): Promise<TestS3> {
  return (await borrowService<TestS3>('s3')).value;
}
