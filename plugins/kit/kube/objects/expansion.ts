// `$(NAME)` expansion in commands, arguments and variables: unknown names stay as written, `$$` is a dollar sign.

export function expand(text: string, lookup: (name: string) => string | undefined): string {
  let result = "";
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char !== "$" || at + 1 >= text.length) {
      result += char;
      continue;
    }
    const next = text[at + 1];
    if (next === "$") {
      result += "$";
      at++;
      continue;
    }
    const end = next === "(" ? text.indexOf(")", at + 2) : -1;
    if (end < 0) {
      result += "$";
      continue;
    }
    const name = text.slice(at + 2, end);
    result += lookup(name) ?? `$(${name})`;
    at = end;
  }
  return result;
}
