// Links in proxied pages: those that lead to the proxied host itself are led through the proxy again. Works on bytes as they pass by,
// in any encoding that keeps ASCII; scripts, styles and comments are left as they are.

/** What a link may stand in, by element. */
const linking: Readonly<Record<string, readonly string[]>> = {
  a: ["href"],
  applet: ["codebase"],
  area: ["href"],
  audio: ["src"],
  base: ["href"],
  blockquote: ["cite"],
  body: ["background"],
  button: ["formaction"],
  command: ["icon"],
  del: ["cite"],
  embed: ["src"],
  form: ["action"],
  frame: ["longdesc", "src"],
  head: ["profile"],
  html: ["manifest"],
  iframe: ["longdesc", "src"],
  img: ["longdesc", "src", "usemap"],
  input: ["src", "usemap", "formaction"],
  ins: ["cite"],
  link: ["href"],
  object: ["classid", "codebase", "data", "usemap"],
  q: ["cite"],
  script: ["src"],
  source: ["src"],
  video: ["poster", "src"],
};

const rawText = /^(script|style|textarea|title|xmp)$/;
// A tag longer than this is none that anyone reads.
const longestTag = 64 * 1024;

export interface LinkBase {
  /** The path that leads to the proxied host's root, without a slash at its end. */
  readonly prefix: string;
  /** Host and port of the proxied one, and those by which the client asked. */
  readonly hosts: readonly string[];
}

/** A link as the client must follow it. Relative ones and those to elsewhere stay. */
export function linkThrough({ prefix, hosts }: LinkBase, link: string): string {
  const [, host, path = ""] = /^(?:(?:https?:)?\/\/([^/?#]*))?(.*)$/is.exec(link) ?? [];
  if (host === undefined && !path.startsWith("/")) return link;
  if (host !== undefined && !hosts.includes(host)) return link;
  const rooted = path.startsWith("/") ? path : `/${path}`;
  return rooted === prefix || rooted.startsWith(`${prefix}/`) ? rooted : `${prefix}${rooted}`;
}

export function rewriteLinks(base: LinkBase): TransformStream<Uint8Array, Uint8Array> {
  const rewriter = new LinkRewriter(base);
  const send = (text: string, to: TransformStreamDefaultController<Uint8Array>) => {
    if (text !== "") to.enqueue(Buffer.from(text, "latin1"));
  };
  return new TransformStream({
    transform: (chunk, to) => send(rewriter.take(Buffer.from(chunk).toString("latin1")), to),
    flush: (to) => send(rewriter.rest(), to),
  });
}

class LinkRewriter {
  readonly #base: LinkBase;
  #held = "";
  /** The element whose text is not looked at, until it ends. */
  #within = "";

  constructor(base: LinkBase) {
    this.#base = base;
  }

  /** What can be sent on; a tag that is not whole yet waits. */
  take(text: string): string {
    let left = this.#held + text;
    let out = "";
    this.#held = "";
    while (left !== "") {
      const { done, rest } = this.#step(left);
      out += done;
      left = rest;
      if (done === "") break;
    }
    if (left.length > longestTag) return out + left;
    this.#held = left;
    return out;
  }

  rest(): string {
    const left = this.#held;
    this.#held = "";
    return left;
  }

  /** Takes one piece from the beginning: text, a comment, or a tag. Nothing when more must come first. */
  #step(text: string): { done: string; rest: string } {
    const split = (at: number) => ({ done: text.slice(0, at), rest: text.slice(at) });
    if (this.#within !== "") {
      const end = text.toLowerCase().indexOf(`</${this.#within}`);
      // Its end may stand half in this piece and half in the next.
      if (end < 0) return split(Math.max(0, text.length - this.#within.length - 2));
      this.#within = "";
      return end === 0 ? this.#tag(text) : split(end);
    }
    const at = text.indexOf("<");
    if (at < 0) return split(text.length);
    return at > 0 ? split(at) : this.#tag(text);
  }

  #tag(text: string): { done: string; rest: string } {
    const nothing = { done: "", rest: text };
    if (text.startsWith("<!--")) {
      const end = text.indexOf("-->", 4);
      return end < 0 ? nothing : { done: text.slice(0, end + 3), rest: text.slice(end + 3) };
    }
    if ("<!--".startsWith(text)) return nothing;
    const end = endOfTag(text);
    if (end < 0) return nothing;
    const tag = text.slice(0, end);
    const name = /^<([a-z][a-z0-9]*)/i.exec(tag)?.[1]?.toLowerCase() ?? "";
    if (rawText.test(name) && !tag.endsWith("/>")) this.#within = name;
    return {
      done: Object.hasOwn(linking, name) ? this.#rewritten(tag, linking[name] ?? []) : tag,
      rest: text.slice(end),
    };
  }

  #rewritten(tag: string, names: readonly string[]): string {
    const form = /(\s)([^\s"'<>/=]+)(\s*=\s*)("[^"]*"|'[^']*'|[^\s"'=<>`]+)/g;
    return tag.replace(form, (whole, space: string, name: string, equals: string, value: string) => {
      if (!names.includes(name.toLowerCase())) return whole;
      const quote = /^["']/.test(value) ? (value[0] ?? "") : "";
      const link = quote === "" ? value : value.slice(1, -1);
      return `${space}${name}${equals}${quote}${linkThrough(this.#base, link.trim())}${quote}`;
    });
  }
}

/** Behind the `>` that ends the tag, not one within quotes; -1 when it is not there yet. */
function endOfTag(text: string): number {
  let quote = "";
  for (let at = 1; at < text.length; at++) {
    const letter = text[at] ?? "";
    if (quote !== "") {
      if (letter === quote) quote = "";
    } else if (letter === ">") return at + 1;
    else if ((letter === '"' || letter === "'") && /=\s*$/.test(text.slice(Math.max(0, at - 8), at))) quote = letter;
  }
  return -1;
}
