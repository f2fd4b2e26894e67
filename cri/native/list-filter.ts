// What list RPCs filter by.

/** Whether every wanted label is there with its value. */
export function hasLabels(
  labels: Readonly<Record<string, string>>,
  wanted: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(wanted ?? {}).every(([key, value]) => labels[key] === value);
}
