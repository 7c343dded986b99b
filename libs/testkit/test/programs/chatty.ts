/** Says that it is there on stdout and over IPC, answers what it is told, and ends by itself on SIGTERM with code 7. */
process.on('SIGTERM', () => process.exit(7));
process.on('message', (message) => console.error(`heard ${JSON.stringify(message)}`));
process.stdin.on('data', (chunk) => console.log(`read ${chunk.toString().trim()}`));
console.log(`greeting ${process.argv[2]} ${process.env.MUSTER_GREETING} ${process.env.VITEST ?? 'alone'}`);
process.send?.({ pid: process.pid });
