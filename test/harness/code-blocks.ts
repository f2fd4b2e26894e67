// The code blocks of a Markdown page, with the language and the words behind it.

export interface CodeBlock {
  readonly language: string;
  /** What stands behind the language, such as `on-a-pi`. */
  readonly note: string;
  readonly text: string;
  /** For messages: the line it begins at. */
  readonly line: number;
}

export function codeBlocks(page: string): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { language: string; note: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of page.split("\n").entries()) {
    const fence = /^```(\S*)\s*(.*)$/.exec(line);
    if (!fence) open?.lines.push(line);
    else if (open) {
      const { lines, ...rest } = open;
      blocks.push({ ...rest, text: `${lines.join("\n")}\n` });
      open = undefined;
    } else open = { language: fence[1] ?? "", note: fence[2] ?? "", line: index + 1, lines: [] };
  }
  return blocks;
}
