/** Which part of a run is done again, as the run that does it keeps it (`runs.rerun_selection`). */

import type { SubjectSelection } from './subject-keys.ts';

/** How a subject may have ended, in one word: its standing where it has a verdict, else its outcome. */
export const SUBJECT_ENDS = ['ok', 'problem', 'declined', 'not_checked', 'cannot_cover'] as const;
export type SubjectEnd = (typeof SUBJECT_ENDS)[number];

/** Subjects that ended in one of these ways, or those of these keys. */
export type RerunSelection = { readonly only: readonly SubjectEnd[] } | { readonly subjects: readonly string[] };

/** The filter that finds the chosen subjects among those of the run that is done again. */
export function selectSubjects(selection: RerunSelection): SubjectSelection {
  if ('subjects' in selection) return { keys: selection.subjects };
  const { only } = selection;
  return {
    standings: (['ok', 'problem', 'declined'] as const).filter((word) => only.includes(word)),
    outcomes: (['not_checked', 'cannot_cover'] as const).filter((word) => only.includes(word)),
  };
}
