// Boolean parameters of a query, read as Kubernetes reads them: what is there is true, whatever it says, unless that is "false" or "0".
// Clients rely on it: Python's sends `watch=True`.

export function isTrue(value: string | null): boolean {
  return value !== null && value.toLowerCase() !== "false" && value !== "0";
}
