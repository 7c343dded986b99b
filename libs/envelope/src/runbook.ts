/**
 * What a runbook declares. One object says everything that an answer needs to name: the procedure, the rules with their
 * version, the verdict words with their standing, what is redacted, and how far a run may go.
 */
import type { DecideRule, DefaultBranch, FlowChart, RedactionPolicy } from 'footprintjs';
import type { ZodType } from 'zod';
import type { InterruptQuestion } from './interrupt-question.ts';
import type { ToolDispatch } from './tool-dispatch.ts';

/** How a verdict word stands: fine, something to act on, or no classification reached. */
export type Standing = 'ok' | 'problem' | 'declined';

/** The rule set's name and version: what an answer names as having judged. */
export interface RunbookRules {
  readonly name: string;
  readonly version: string;
  /**
   * The rules themselves, when the runbook shares them with its decider: checked at definition (operators, empty
   * conditions, words that no rule can give) and made part of the definition's digest.
   */
  readonly list?: readonly DecideRule<Record<string, unknown>>[];
  /** The default branch beside the rules, likewise. */
  readonly otherwise?: DefaultBranch;
}

/** Where the verdicts come from, and how they stand. */
export interface RunbookVerdictsOptions {
  /** The decider whose branches name the verdicts. */
  readonly decider: string;
  /** How many rows an answer shows, in list and table alike. Default 50. */
  readonly maxRows?: number;
  /** Each verdict word's standing. `declined` is always there and need not be listed. */
  readonly standings?: Readonly<Record<string, Standing>>;
}

/** Who renders the rows: the model's words, or the client's own panel. */
export type RunbookPresentation = 'prose' | 'panel';

/** How the recording of a run is filed. */
export interface RunbookRecordingOptions {
  readonly label?: string;
  /** A recording whose JSON is larger is refused, never cut. Default 5,000,000. */
  readonly maxBytes?: number;
  /**
   * A fleet's own: file the recordings of its subjects too, of all or of those that did not end `ok`. Default `none`. With
   * anything else each subject costs about half as much again.
   */
  readonly subjects?: SubjectRecordings;
  /** A subject's recording whose JSON is larger is refused, by itself. Default 200,000. */
  readonly subjectMaxBytes?: number;
}

/** Whose recordings a fleet files. */
export type SubjectRecordings = 'none' | 'problems' | 'all';

/** How much of a run's walk is filed. */
export interface RunbookWalkOptions {
  /** How many rows the walk artifact holds. Default 500. */
  readonly cap?: number;
  /** File the chart's recording beside the walk. Off by default: a recording holds what the chart wrote. */
  readonly recording?: boolean | RunbookRecordingOptions;
}

/** The bounded form: a factory that is invoked once a run, with that run's tools. */
export type RunbookProcedure = (tools: ToolDispatch) => FlowChart;

/** Where plan puts the subjects. Await each call: it resolves when the page is stored, which is the back-pressure. */
export interface SubjectSink<Subject> {
  add(subjects: readonly Subject[]): Promise<void>;
}

/** What every chart of a fleet run gets as run input (`$getArgs()`), deep-frozen. */
export interface RunArgs {
  /** The run's input, validated. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The instant that every rule of this run judges by, RFC 3339 UTC. */
  readonly now: string;
}

/** Run input of the assess chart. */
export interface AssessArgs<Subject> extends RunArgs {
  readonly subject: Subject;
}

/** Run input of the collect chart: the run's counters. */
export interface CollectArgs extends RunArgs {
  readonly counts: SubjectCounts;
}

/** How the subjects of a run ended; the five add up to `total`. */
export interface SubjectCounts {
  readonly total: number;
  readonly ok: number;
  readonly problem: number;
  readonly declined: number;
  readonly not_checked: number;
  readonly cannot_cover: number;
}

/** Why a subject cannot be assessed, known before any chart runs. */
export interface SubjectGap {
  readonly outcome: 'not_checked' | 'cannot_cover';
  /** A stable word, like `evidence_too_old`. */
  readonly code: string;
  /** A sentence in the runbook's own words. */
  readonly reason: string;
}

/** The fleet form. `Subject` is plain JSON, and only the fields that assess needs. */
export interface FleetProcedure<Subject> {
  /** The plan chart calls its tools and streams subjects into the sink. */
  readonly plan: (tools: ToolDispatch, subjects: SubjectSink<Subject>) => FlowChart;
  /** Names the row; unique in the run. The first of two equal keys wins, the rest are counted and named. */
  readonly key: (subject: Subject) => string;
  /** The same thing across sweeps, when the key is not (a pod's owner). */
  readonly identity?: (subject: Subject) => string;
  /** What limits, canary and blame are counted by (a cluster, a host). */
  readonly target?: (subject: Subject) => string | undefined;
  /**
   * What keeps a subject from being assessed: its evidence is too old, or it was expected and nothing tells of it. Such a
   * subject ends as the gap says, no chart runs for it, and its columns are made from no state. A function of what it is given.
   */
  readonly gap?: (subject: Subject, args: RunArgs) => SubjectGap | undefined;
  /** One chart; it serves one subject after another, each as its run input. */
  readonly assess: (tools: ToolDispatch) => FlowChart;
  /**
   * The runbook's own columns, from the redacted state. `reason` replaces the deciding rule's label where a better
   * sentence is known; `subject`, `verdict` and `standing` are the decider's and are ignored here.
   */
  readonly row: (state: Readonly<Record<string, unknown>>, subject: Subject) => Readonly<Record<string, unknown>>;
  /** Gets the counters as run input; writes `report` and `coverage`. */
  readonly collect?: (tools: ToolDispatch) => FlowChart;
  /**
   * Asks a person between the plan and the assessment, with what was counted; undefined: nobody has to be asked. It is a
   * function of what it is given, because whoever plans the run again gets the same question.
   */
  readonly approve?: (counts: PlanCounts, input: Readonly<Record<string, unknown>>) => InterruptQuestion | undefined;
}

/** What a plan counted. */
export interface PlanCounts {
  readonly subjects: number;
  /** How many targets they are on; left out where the runbook names none. */
  readonly targets?: number;
}

/** Who may answer what a run asks, and for how long. */
export interface RunbookAnswers {
  /** Keys of this role and above. Default `approver`. */
  readonly role?: 'runner' | 'approver' | 'admin';
  /** Whether the key that started the run may answer. Default false. */
  readonly self?: boolean;
  /** How long a question stands before its run ends as cancelled, in ms. Default 24 hours. */
  readonly withinMs?: number;
}

/** How far a run may go. */
export interface RunLimits {
  /** Subjects a chunk. Default 1,000. */
  readonly chunkSize?: number;
  /** Subjects of a chunk that are assessed at once, for charts that wait. Default 1. */
  readonly concurrency?: number;
  /** Default 30,000. A synchronous stage cannot be interrupted by it. */
  readonly subjectTimeoutMs?: number;
  /** Over it the plan fails; nothing is cut off in silence. Default 100,000. */
  readonly maxSubjects?: number;
  /** The bounded form's whole run, and the plan and collect charts. Default 900,000. */
  readonly chartTimeoutMs?: number;
  /** From acceptance on: what is not assessed by then is `not_checked: deadline`. No deadline when left out. */
  readonly deadlineMs?: number;
  /**
   * Subjects that may fail (throw, time out, die) before the sweep is stopped: a number, or a share like `'5%'` of the
   * subjects settled so far. No budget when left out.
   */
  readonly errorBudget?: number | `${number}%`;
  /**
   * The share of targets that goes first, like `'10%'`: every other subject waits until those are settled and the error
   * budget, where there is one, still holds. Which targets they are differs from run to run; there is at least one. A
   * subject without a target counts as one by itself. Fleets only, and a run in one process has none.
   */
  readonly canary?: `${number}%`;
}

interface RunbookCommon {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly resultKind: string;
  readonly rules: RunbookRules;
  readonly verdicts: RunbookVerdictsOptions;
  readonly presentation?: RunbookPresentation;
  readonly walk?: RunbookWalkOptions;
  readonly redact?: RedactionPolicy;
  /** The tools it calls; a missing one fails when the catalog is built. */
  readonly composedOf?: readonly string[];
  /**
   * A closed zod object: what an answer to a question of this runbook must be. A procedure that asks has to declare it; a
   * fleet with `approve` takes `{ approved, reason? }` by itself, and another schema of its own has a boolean `approved`, too.
   *
   * A procedure asks with `interrupt` or a pausable stage: on its main line, in a branch of a decider there, or in a subflow
   * of the main line at these places. It cannot ask where a loop leads back to the question or to what came before it
   * (the branch that loops may), and its state is plain JSON at that point. `interrupt` begins its stage again from the top.
   */
  readonly resume?: ZodType<Record<string, unknown>>;
  readonly answers?: RunbookAnswers;
  /** Agents see it as a tool of its own name, too. Default false. */
  readonly asTool?: boolean;
  /** Whether it can pause for an approval; nothing may be composed of a runbook that does. */
  readonly gates?: boolean;
  /** A closed zod object. */
  readonly input: ZodType<Record<string, unknown>>;
  readonly limits?: RunLimits;
}

/** What `defineRunbook` takes: the common part and exactly one of the two forms. */
export type RunbookDeclaration<Subject = never> =
  | (RunbookCommon & { readonly procedure: RunbookProcedure; readonly fleet?: undefined })
  | (RunbookCommon & { readonly fleet: FleetProcedure<Subject>; readonly procedure?: undefined });
