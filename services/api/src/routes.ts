import type { Api } from './api.ts';
import type { ApiDeps } from './api-deps.ts';
import type { KeyRing } from './key-ring.ts';
import { getOpenApi } from './openapi.ts';
import { cancelRunRoute } from './routes/cancel-run.ts';
import { createKey } from './routes/create-key.ts';
import { getAnswerRoute } from './routes/get-answer.ts';
import { getArtifact } from './routes/get-artifact.ts';
import { getEnvelope } from './routes/get-envelope.ts';
import { getHealth } from './routes/get-health.ts';
import { getQuota } from './routes/get-quota.ts';
import { getReadiness } from './routes/get-readiness.ts';
import { getRunRoute } from './routes/get-run.ts';
import { getRunbook } from './routes/get-runbook.ts';
import { listHistory } from './routes/list-history.ts';
import { listKeys } from './routes/list-keys.ts';
import { listRowsRoute } from './routes/list-rows.ts';
import { listRunbooks } from './routes/list-runbooks.ts';
import { listRunsRoute } from './routes/list-runs.ts';
import { postUpload } from './routes/post-upload.ts';
import { rerunRunRoute } from './routes/rerun-run.ts';
import { revokeKey } from './routes/revoke-key.ts';
import { setQuota } from './routes/set-quota.ts';
import { startRunRoute } from './routes/start-run.ts';

/** Registers every route. */
export function registerRoutes(api: Api, deps: ApiDeps, keys: KeyRing): void {
  getHealth(api);
  getReadiness(api, deps);
  getOpenApi(api);
  listRunbooks(api, deps);
  getRunbook(api, deps);
  postUpload(api, deps);
  startRunRoute(api, deps);
  listRunsRoute(api, deps);
  getRunRoute(api, deps);
  cancelRunRoute(api, deps);
  rerunRunRoute(api, deps);
  listRowsRoute(api, deps);
  getEnvelope(api, deps);
  getAnswerRoute(api, deps);
  listHistory(api, deps);
  getArtifact(api, deps);
  createKey(api, deps);
  listKeys(api, deps);
  revokeKey(api, deps, keys);
  getQuota(api, deps);
  setQuota(api, deps);
}
