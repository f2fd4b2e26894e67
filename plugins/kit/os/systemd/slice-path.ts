// Where the cgroup of a slice is.

/** A slice's path: every dash is a level, and each level repeats the name so far. What is no slice is a path already. */
export function cgroupPath(parent: string): string {
  if (!parent.endsWith(".slice") || parent.includes("/")) return parent;
  const parts = parent.slice(0, -".slice".length).split("-");
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join("-")}.slice`).join("");
}
