// Every TypeScript source file of the project, as git sees them: tracked, or new and not ignored. Paths from the root.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

export function sourceFiles(): string[] {
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "--", "*.ts", "*.tsx"],
    {
      encoding: "utf8",
    },
  );
  return listed
    .split("\n")
    .filter((file) => file !== "" && !/(^|\/)gen\//.test(file) && !file.endsWith(".d.ts") && existsSync(file));
}
