// One of several processes behind a proxy that sends each key to one of them (src/serve/README.md). What another process keeps is not
// found here: a first request would act a second time, and a monitor would say that nothing was accepted. So a process that has a number
// answers for keys only when the proxy names that number.

import { PROCESS_HEADER } from "./headers.ts";

/** Whether a request about a key is for this process. `own`: its number; `null`: there is no other. */
export function processGate(own: string | null): (headers: Headers) => boolean {
  if (own === null) return () => true;
  const isOwn = (name: string): boolean => /^\d+$/.test(name) && Number(name) === Number(own);
  return (headers) => {
    const named = headers.get(PROCESS_HEADER);
    if (named !== null && isOwn(named)) return true;
    const chosen = named === null ? "none" : `process ${JSON.stringify(named)}`;
    console.error({
      message: `process ${own} was sent a key for which the proxy has chosen ${chosen}: it refuses, because another process may have its record`,
    });
    return false;
  };
}
