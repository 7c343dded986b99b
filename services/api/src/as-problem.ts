/**
 * Turns whatever was thrown into a problem. Only messages that are ours are passed on: foreign ones may quote a payload.
 */
import { ArtifactError } from '@muster/artifacts';
import { ResultsError } from '@muster/results';
import { JsonFault } from '@muster/workflow-tools';
import { Problem } from './problems.ts';

/** @returns a problem whose `cause` is the error when it was a surprise */
export function asProblem(error: unknown): Problem {
  if (error instanceof Problem) return error;
  if (error instanceof JsonFault) return new Problem('invalid_json', error.message);
  const retry = { cause: error, headers: { 'retry-after': '2' } };
  if (error instanceof ResultsError) {
    if (error.code === 'results_unavailable') return new Problem('results_unavailable', error.message, {}, retry);
    if (error.code === 'unknown_cursor') return new Problem('unknown_cursor', 'the cursor names nothing in this list');
    return surprise(error);
  }
  if (error instanceof ArtifactError) {
    if (error.code === 'artifact_store_unavailable') {
      return new Problem('artifact_store_unavailable', error.message, {}, retry);
    }
    if (error.code === 'artifact_integrity')
      return new Problem('artifact_damaged', error.message, {}, { cause: error });
    return surprise(error);
  }
  return asFrameworkProblem(error) ?? surprise(error);
}

function asFrameworkProblem(error: unknown): Problem | undefined {
  const { code, statusCode } = (error ?? {}) as { code?: unknown; statusCode?: unknown };
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return new Problem('body_too_large', 'the body is larger than a JSON body may be');
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return new Problem('unsupported_media_type', 'the body must be sent as application/json');
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return new Problem('invalid_http', 'the body is shorter or longer than its Content-Length');
    case 'FST_ERR_BAD_URL':
    case 'FST_ERR_INVALID_URL':
      return new Problem('invalid_http', 'the URL is not well-formed');
    case 'FST_ERR_MAX_PARAM_LENGTH':
      return new Problem('not_found', 'there is no such path');
  }
  const isRefusal = typeof statusCode === 'number' && statusCode >= 400 && statusCode < 500;
  return isRefusal ? new Problem('invalid_http', 'the request could not be read') : undefined;
}

function surprise(error: unknown): Problem {
  return new Problem(
    'internal_error',
    'the request could not be done; the log has more under this instance',
    {},
    {
      cause: error,
    },
  );
}
