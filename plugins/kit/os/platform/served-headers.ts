// The headers of a request that came over a connection, looked up in what the runtime's parser made of them. Whoever wants more than
// to look a few up gets real ones.

import type { Incoming } from "./served-request.ts";

class ReceivedHeaders {
  readonly #incoming: Incoming;
  #real: Headers | undefined;

  constructor(incoming: Incoming) {
    this.#incoming = incoming;
  }

  get(name: string): string | null {
    if (this.#real) return this.#real.get(name);
    const { headers } = this.#incoming;
    const key = name.toLowerCase();
    // What HTTP/2 puts among them is no header.
    if (!Object.hasOwn(headers, key) || key.startsWith(":")) return null;
    const value = headers[key] ?? null;
    return Array.isArray(value) ? value.join(", ") : value;
  }

  /** One for each line of that name. */
  lines(name: string): string[] {
    const { rawHeaders } = this.#incoming;
    const key = name.toLowerCase();
    return rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === key);
  }

  /** In lower case; those that HTTP/2 puts among them too. */
  names(): string[] {
    return this.#real ? [...this.#real.keys()] : Object.keys(this.#incoming.headers);
  }

  has(name: string): boolean {
    return this.get(name) !== null;
  }

  append(name: string, value: string): void {
    this.#whole().append(name, value);
  }

  set(name: string, value: string): void {
    this.#whole().set(name, value);
  }

  delete(name: string): void {
    this.#whole().delete(name);
  }

  getSetCookie(): string[] {
    return this.#whole().getSetCookie();
  }

  forEach(visit: (value: string, name: string, headers: Headers) => void): void {
    for (const [name, value] of this.#whole()) visit(value, name, this as unknown as Headers);
  }

  keys() {
    return this.#whole().keys();
  }

  values() {
    return this.#whole().values();
  }

  entries() {
    return this.#whole().entries();
  }

  [Symbol.iterator]() {
    return this.entries();
  }

  #whole(): Headers {
    if (this.#real) return this.#real;
    this.#real = new Headers();
    const { rawHeaders } = this.#incoming;
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      const name = rawHeaders[at] as string;
      if (!name.startsWith(":")) this.#real.append(name, rawHeaders[at + 1] as string);
    }
    return this.#real;
  }
}

Object.setPrototypeOf(ReceivedHeaders.prototype, Headers.prototype);

export const ServedHeaders = ReceivedHeaders as unknown as new (incoming: Incoming) => Headers;

/** The lines of that name as they came; where that is not known, a line for each part between commas. */
export function headerLines(headers: Headers, name: string): string[] {
  if (headers instanceof ReceivedHeaders) return headers.lines(name);
  const joined = headers.get(name);
  return joined === null ? [] : joined.split(",").map((part) => part.trim());
}

/** The names of all headers in lower case, without making real ones of them. */
export function headerNames(headers: Headers): string[] {
  return headers instanceof ReceivedHeaders ? headers.names() : [...headers.keys()];
}
