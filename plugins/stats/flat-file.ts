// The forms that control group files come in: one number, or keys with numbers.

export function numberIn(text: string | undefined): number | undefined {
  const trimmed = text?.trim() ?? "";
  return /^\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** Keys and numbers of a file such as memory.stat. */
export function pairsIn(text: string | undefined): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of (text ?? "").split("\n")) {
    const at = line.indexOf(" ");
    if (at > 0) found.set(line.slice(0, at), Number(line.slice(at + 1)));
  }
  return found;
}

export function lineCount(text: string | undefined): number {
  let count = 0;
  for (let at = text?.indexOf("\n") ?? -1; at >= 0; at = text?.indexOf("\n", at + 1) ?? -1) count++;
  return count;
}
