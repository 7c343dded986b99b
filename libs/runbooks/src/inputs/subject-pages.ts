/** Subjects on their way into the sink, a page at a time. */
import type { SubjectSink } from '@muster/envelope';

const PAGE_SIZE = 200;

export class SubjectPages<Subject> {
  readonly #sink: SubjectSink<Subject>;
  #page: Subject[] = [];

  constructor(sink: SubjectSink<Subject>) {
    this.#sink = sink;
  }

  /** Resolves when there is room again. */
  async add(subject: Subject): Promise<void> {
    this.#page.push(subject);
    if (this.#page.length >= PAGE_SIZE) await this.flush();
  }

  /** Hands on what is left. */
  async flush(): Promise<void> {
    if (this.#page.length === 0) return;
    const page = this.#page;
    this.#page = [];
    await this.#sink.add(page);
  }
}
