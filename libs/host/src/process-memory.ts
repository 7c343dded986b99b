/**
 * What bounds the memory of a service process, as the environment that it is started with: V8 and the allocator read these
 * when a process begins, so its own code comes too late. Without them everything works, in more memory.
 *
 * Whoever starts services puts these below what is configured. The images carry the same values.
 */
export const PROCESS_MEMORY = {
  // V8 lets the space for young objects grow to 128 MB while much passes through and never takes it back. The records of a
  // large plan do; they are garbage a page later, so a quarter of it collects them as well.
  NODE_OPTIONS: '--max-semi-space-size=16',
  // glibc keeps what is freed, and learns to keep blocks of up to 32 MB: the walks of chunks, some 3 MB each, leave its heaps
  // full of holes. From this size on a block is the system's own and goes back to it.
  MALLOC_MMAP_THRESHOLD_: '1048576',
} as const;
