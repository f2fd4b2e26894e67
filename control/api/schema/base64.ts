// Whether text is base64, as Go's decoder takes it: padded, with line ends anywhere.

const whole = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const letter = /[A-Za-z0-9+/]/;

/** Where it stops being base64; undefined when it does not. */
export function base64Problem(text: string): number | undefined {
  if (whole.test(text)) return undefined;
  let inQuantum = 0;
  let begun = 0;
  let padding = 0;
  for (let at = 0; at < text.length; at++) {
    const mark = text[at] as string;
    if (mark === "\n" || mark === "\r") continue;
    if (padding > 0) {
      if (padding === 2 && mark === "=") {
        padding = 1;
        continue;
      }
      return at;
    }
    if (letter.test(mark)) {
      if (inQuantum === 0) begun = at;
      inQuantum = (inQuantum + 1) % 4;
    } else if (mark === "=" && inQuantum >= 2) padding = 4 - inQuantum;
    else return at;
    if (mark === "=") inQuantum = 0;
  }
  if (padding === 2) return text.length;
  return inQuantum === 0 ? undefined : begun;
}
