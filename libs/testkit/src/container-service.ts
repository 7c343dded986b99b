/** placeholder replaced below */
export interface ContainerPlan { readonly name: string; readonly image: string; readonly port: number; readonly environment?: Record<string, string>; readonly command?: string[]; readonly ready?: { line: RegExp; times: number } }
export async function startContainer(_plan: ContainerPlan, _env: NodeJS.ProcessEnv): Promise<{ host: string; port: number; stop(): Promise<void> } | undefined> { return undefined; }
