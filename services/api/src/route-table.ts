import type { Api } from './api.ts';
import type { Access } from './caller.ts';

/** A registered route, for 405 answers and for tests that must cover every route. */
export interface RegisteredRoute {
  readonly method: string;
  /** With `:parameters`. */
  readonly url: string;
  readonly access: Access;
}

/** The routes of an application, filled while they are registered. */
export class RouteTable {
  readonly routes: RegisteredRoute[] = [];

  constructor(api: Api) {
    api.addHook('onRoute', ({ method, url, config }) => {
      for (const one of [method].flat()) this.routes.push({ method: one, url, access: config?.access ?? 'admin' });
    });
  }

  /** The methods that a concrete path has; none: there is no such path. */
  methodsOf(path: string): string[] {
    const methods = this.routes.filter((route) => matches(route.url, path)).map((route) => route.method);
    return [...new Set(methods)].sort();
  }
}

function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/');
  const given = path.split('/');
  return (
    wanted.length === given.length &&
    wanted.every((part, index) => (part.startsWith(':') ? given[index] !== '' : part === given[index]))
  );
}
