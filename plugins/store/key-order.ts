// The order of keys: by their UTF-8 bytes, as etcd and every Kubernetes list order them.

/** Negative, zero or positive. UTF-16 order differs from byte order only where surrogates meet U+E000 and above. */
export function compareKeys(a: string, b: string): number {
  if (a === b) return 0;
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    const left = a.charCodeAt(at);
    const right = b.charCodeAt(at);
    if (left !== right) return rank(left) - rank(right);
  }
  return a.length - b.length;
}

/** Lifts surrogates (which stand for U+10000 and above) over the rest of the basic plane. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** The index of the first key for which `isBefore` no longer holds; the keys are in order. */
export function firstNot(keys: readonly string[], isBefore: (key: string) => boolean): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(keys[middle] as string)) low = middle + 1;
    else high = middle;
  }
  return low;
}
