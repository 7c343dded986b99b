export { addressFault, type PrivateAddresses, receiverFault } from './address-guard.ts';
export {
  type Announcement,
  announcement,
  answerNotice,
  type NoticeChange,
  type NoticeHead,
  type NoticeOutage,
  SHOWN_CHANGES,
  type StandingFacts,
  type SweepFacts,
  type SweepNotice,
  sweepNotice,
  tellsAnything,
  testNotice,
} from './notice-body.ts';
export { MAX_ATTEMPTS, type Reception, receptionOf, retryAfterMs, waitAfter } from './retry-plan.ts';
export { slackOfSentence, slackOfStandings, slackOfSweep } from './slack-body.ts';
