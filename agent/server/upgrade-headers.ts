// The headers of an upgrade in the form that requests have them.

import type { Upgrade } from "../../plugins/kit/os/platform/http-server.ts";

export function headersOf({ request }: Upgrade): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}
