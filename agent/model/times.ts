// Times as the API writes them: RFC 3339 in whole seconds, UTC.

export function apiTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** With microseconds, the form of leases. */
export function apiMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}
