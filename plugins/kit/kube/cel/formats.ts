// Named formats (`format.dns1123Label().validate(text)`): the names Kubernetes gives to well-known shapes of text.

import type { Environment, Optional } from "@marcbachmann/cel-js";
import { isLabelValue } from "../selector.ts";

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";

interface Shape {
  readonly pattern: RegExp;
  readonly most: number;
  readonly says: string;
}

const lowerCase =
  "must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const dnsLabel = { pattern: new RegExp(`^${label}$`), most: 63, says: `a lowercase RFC 1123 label ${lowerCase}` };
const dnsSubdomain = {
  pattern: new RegExp(`^${label}(\\.${label})*$`),
  most: 253,
  says: `a lowercase RFC 1123 subdomain ${lowerCase.replace("'-',", "'-' or '.',")}`,
};
const dns1035 = {
  pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  most: 63,
  says: "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
};
const qualified = {
  pattern: new RegExp(`^(${label}(\\.${label})*/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`),
  most: 317,
  says: "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
};

const shapes: Readonly<Record<string, Shape>> = {
  dns1123Label: dnsLabel,
  dns1123Subdomain: dnsSubdomain,
  dns1035Label: dns1035,
  qualifiedName: qualified,
  dns1123LabelPrefix: { ...dnsLabel, pattern: /^[a-z0-9][-a-z0-9]*$/ },
  dns1123SubdomainPrefix: { ...dnsSubdomain, pattern: /^[a-z0-9][-a-z0-9.]*$/ },
  dns1035LabelPrefix: { ...dns1035, pattern: /^[a-z][-a-z0-9]*$/ },
  uuid: { pattern: /^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$/i, most: 36, says: "does not match the UUID format" },
  byte: {
    pattern: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
    most: 3_000_000,
    says: "invalid base64",
  },
  date: { pattern: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/, most: 10, says: "invalid date" },
  datetime: {
    pattern: /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/,
    most: 40,
    says: "invalid datetime",
  },
  uri: { pattern: /^([a-z][a-z0-9+.-]*:|\/)\S*$/i, most: 100_000, says: "invalid URI" },
};

class NamedFormat {
  readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
}

function problemsOf(name: string, text: string): string[] {
  if (name === "labelValue")
    return isLabelValue(text)
      ? []
      : [
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        ];
  const shape = shapes[name];
  if (!shape) return [];
  if (text.length > shape.most) return [`must be no more than ${shape.most} characters`];
  return shape.pattern.test(text) ? [] : [shape.says];
}

export function registerFormatFunctions(env: Environment, optional: typeof Optional): void {
  const type = "kubernetes.NamedFormat";
  env.registerType(type, NamedFormat);
  class FormatNamespace {}
  env.registerType("FormatNamespace", FormatNamespace);
  env.registerConstant("format", "FormatNamespace", new FormatNamespace());
  const names = [...Object.keys(shapes), "labelValue"];
  for (const name of names) env.registerFunction(`FormatNamespace.${name}(): ${type}`, () => new NamedFormat(name));
  env.registerFunction(`FormatNamespace.named(string): optional<${type}>`, (_: unknown, name: string) =>
    names.includes(name) ? optional.of(new NamedFormat(name)) : optional.none(),
  );
  env.registerFunction(`${type}.validate(string): optional<list<string>>`, (self: NamedFormat, text: string) => {
    const problems = problemsOf(self.name, text);
    return problems.length > 0 ? optional.of(problems) : optional.none();
  });
}
