// Reads what one test file printed: how many assertions passed, failed and were skipped, and the text of the failures.

export interface TapSummary {
  passed: number;
  failed: number;
  skipped: number;
  /** The failing lines with their diagnostics, as printed. */
  failures: string[];
  /** `name: reason` of each skipped test. */
  skips: string[];
}

/** `complete` is false when the plan or closing line is missing: the file died before its end. */
export function summarizeTap(output: string): TapSummary & { complete: boolean } {
  const closing = /^# \{ total: (\d+)(?:, pass: (\d+))?(?:, fail: (\d+))?(?:, todo: \d+)?(?:, skip: (\d+))? \}$/m.exec(
    output,
  );
  const failures: string[] = [];
  const skips: string[] = [];
  let open = false;
  for (const line of output.split("\n")) {
    const skip = /^\s*(?:not )?ok \d+ - (.*?) # SKIP ?(.*)$/i.exec(line);
    if (skip) skips.push(`${skip[1]}: ${skip[2] ?? ""}`);
    if (/^\s*not ok /.test(line)) open = true;
    else if (/^\s*(ok |# Subtest|\d+\.\.\d+)/.test(line)) open = false;
    if (open) failures.push(line);
  }
  return {
    passed: Number(closing?.[2] ?? 0),
    failed: Number(closing?.[3] ?? 0),
    skipped: Number(closing?.[4] ?? 0),
    failures,
    skips,
    complete: closing !== null,
  };
}
