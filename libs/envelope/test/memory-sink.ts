import type { ArtifactSink, MintInput } from '../src/index.ts';

/** A sink that keeps what was put, under refs that name the order of the puts. */
export class MemorySink implements ArtifactSink {
  readonly puts: (MintInput & { readonly ref: string })[] = [];

  async put(input: MintInput): Promise<{ readonly ref: string }> {
    const ref = `art_${String(this.puts.length + 1).padStart(22, '0')}`;
    this.puts.push({ ...input, ref });
    return { ref };
  }

  /** The payload behind a ref, parsed. */
  redeem(ref: string | undefined): unknown {
    const found = this.puts.find((put) => put.ref === ref);
    if (found === undefined) throw new Error(`nothing was put under ${ref}`);
    return JSON.parse(found.data);
  }

  kinds(): string[] {
    return this.puts.map(({ kind }) => kind);
  }
}

/** A sink whose store refuses the kinds it is told to. */
export function refusingSink(refuse: (kind: string) => boolean, message = 'the store is full'): MemorySink {
  const sink = new MemorySink();
  const put = sink.put.bind(sink);
  sink.put = async (input) => {
    if (refuse(input.kind)) throw Object.assign(new Error(message), { code: 'store_full' });
    return put(input);
  };
  return sink;
}
