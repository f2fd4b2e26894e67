// Writes Prometheus' text format: families in order, each with its help and type once, lines as they come.

export type Labels = Readonly<Record<string, string>>;

interface Family {
  readonly head: string;
  readonly lines: string[];
}

export class Exposition {
  readonly #families = new Map<string, Family>();

  /** `labels` may be text that `labelText` made, so that one container's is made once. */
  add(
    name: string,
    type: "gauge" | "counter",
    help: string,
    labels: Labels | string,
    value: number,
    at?: number,
  ): void {
    let family = this.#families.get(name);
    if (!family) {
      family = { head: `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`, lines: [] };
      this.#families.set(name, family);
    }
    const text = typeof labels === "string" ? labels : labelText(labels);
    family.lines.push(
      `${name}${text === "" ? "" : `{${text}}`} ${value}${at === undefined ? "" : ` ${Math.round(at)}`}\n`,
    );
  }

  toString(): string {
    return [...this.#families.values()].map(({ head, lines }) => head + lines.join("")).join("");
  }
}

export function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",");
}

function escaped(value: string): string {
  return /[\\"\n]/.test(value) ? value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n") : value;
}
