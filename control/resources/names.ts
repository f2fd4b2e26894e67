// The formats of names, labels and ports, with upstream's sentences for what is wrong with them.

const labelPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const subdomainPattern = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label1035Pattern = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedPattern = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValuePattern = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

const regexUsed = (pattern: string, ...examples: string[]): string =>
  `(e.g. ${examples.map((example) => `'${example}'`).join(",  or ")}, regex used for validation is '${pattern}')`;

export function dnsLabel(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 63) problems.push("must be no more than 63 characters");
  if (!labelPattern.test(name)) {
    problems.push(
      subdomainPattern.test(name)
        ? "must not contain dots"
        : `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character ${regexUsed("[a-z0-9]([-a-z0-9]*[a-z0-9])?", "my-name", "123-abc")}`,
    );
  }
  return problems;
}

export function dnsSubdomain(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 253) problems.push("must be no more than 253 characters");
  if (name.length > 2000 || !subdomainPattern.test(name))
    problems.push(
      `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character ${regexUsed("[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", "example.com")}`,
    );
  return problems;
}

/** `*.example.com`. */
export function wildcardSubdomain(name: string): string[] {
  const pattern = "\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
  const problems = name.length > 253 ? ["must be no more than 253 characters"] : [];
  if (!name.startsWith("*.") || name.length > 2000 || !subdomainPattern.test(name.slice(2)))
    problems.push(
      `a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character ${regexUsed(pattern, "*.example.com")}`,
    );
  return problems;
}

export function dns1035Label(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 63) problems.push("must be no more than 63 characters");
  if (!label1035Pattern.test(name))
    problems.push(
      `a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character ${regexUsed("[a-z]([-a-z0-9]*[a-z0-9])?", "my-name", "abc-123")}`,
    );
  return problems;
}

/** Names of roles and the like: anything that can stand in a URL path. */
export function pathSegment(name: string): string[] {
  if (name === "." || name === "..") return [`may not be '${name}'`];
  return ["/", "%"].filter((bad) => name.includes(bad)).map((bad) => `may not contain '${bad}'`);
}

/** Label keys and the like: an optional DNS prefix, a slash, a short name. */
export function qualifiedName(value: string): string[] {
  const problems: string[] = [];
  const slash = value.indexOf("/");
  const [prefix, name] = slash < 0 ? [undefined, value] : [value.slice(0, slash), value.slice(slash + 1)];
  if (name.includes("/"))
    return [
      `a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ${regexUsed("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", "MyName", "my.name", "123-abc")} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  if (prefix !== undefined) {
    if (prefix === "") problems.push("prefix part must be non-empty");
    else problems.push(...dnsSubdomain(prefix).map((problem) => `prefix part ${problem}`));
  }
  if (name === "") problems.push("name part must be non-empty");
  else if (name.length > 63) problems.push("name part must be no more than 63 characters");
  if (name.length > 300 || !qualifiedPattern.test(name))
    problems.push(
      `name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ${regexUsed("([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", "MyName", "my.name", "123-abc")}`,
    );
  return problems;
}

export function labelValue(value: string): string[] {
  const problems: string[] = [];
  if (value.length > 63) problems.push("must be no more than 63 characters");
  if (value.length > 300 || !labelValuePattern.test(value))
    problems.push(
      `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character ${regexUsed("(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?", "MyValue", "my_value", "12345")}`,
    );
  return problems;
}

/** IANA_SVC_NAME, as named ports are called. */
export function portName(name: string): string[] {
  const problems: string[] = [];
  if (name.length > 15) problems.push("must be no more than 15 characters");
  if (!/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name))
    problems.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  else if (!/[a-z]/.test(name)) problems.push("must contain at least one letter (a-z)");
  if (name.includes("--")) problems.push("must not contain consecutive hyphens");
  return problems;
}

export function isPortNumber(port: unknown): port is number {
  return typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65535;
}

/** Keys of ConfigMaps and Secrets: also file names. */
export function configKey(key: string): string[] {
  const problems: string[] = [];
  if (key.length > 253) problems.push("must be no more than 253 characters");
  if (!/^[-._a-zA-Z0-9]+$/.test(key))
    problems.push(
      `a valid config key must consist of alphanumeric characters, '-', '_' or '.' ${regexUsed("[-._a-zA-Z0-9]+", "key.name", "KEY_NAME", "key-name")}`,
    );
  if (key === ".") problems.push("must not be '.'");
  else if (key === "..") problems.push("must not be '..'");
  else if (key.startsWith("..")) problems.push("must not start with '..'");
  return problems;
}
