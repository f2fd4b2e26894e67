// The functions and operators that expressions may use, with the types they take and give: those of CEL, and those of Kubernetes v1.32.

import { type CelType, parseType, splitTypes } from "./types.ts";

export interface Overload {
  readonly isMember: boolean;
  /** The receiver first, where there is one. */
  readonly args: readonly CelType[];
  readonly result: CelType;
}

// `receiver.name(arguments) result`, several results of one name on a line.
const table = `
_==_(A, A) bool; _!=_(A, A) bool
_&&_(bool, bool) bool; _||_(bool, bool) bool; !_(bool) bool; _?_:_(bool, A, A) A; @not_strictly_false(bool) bool
_in_(A, list(A)) bool; _in_(A, map(A, B)) bool; _[_](list(A), int) A; _[_](map(A, B), A) B
_[?_](list(A), int) optional_type(A); _[?_](map(A, B), A) optional_type(B)
_[?_](optional_type(list(A)), int) optional_type(A); _[?_](optional_type(map(A, B)), A) optional_type(B)
_+_(int, int) int; _+_(uint, uint) uint; _+_(double, double) double; _+_(string, string) string; _+_(bytes, bytes) bytes
_+_(list(A), list(A)) list(A); _+_(timestamp, duration) timestamp; _+_(duration, timestamp) timestamp; _+_(duration, duration) duration
_-_(int, int) int; _-_(uint, uint) uint; _-_(double, double) double
_-_(timestamp, timestamp) duration; _-_(timestamp, duration) timestamp; _-_(duration, duration) duration
_*_(int, int) int; _*_(uint, uint) uint; _*_(double, double) double
_/_(int, int) int; _/_(uint, uint) uint; _/_(double, double) double
_%_(int, int) int; _%_(uint, uint) uint; -_(int) int; -_(double) double
size(string) int; size(bytes) int; size(list(A)) int; size(map(A, B)) int
string.size() int; bytes.size() int; list(A).size() int; map(A, B).size() int
string.contains(string) bool; string.startsWith(string) bool; string.endsWith(string) bool
matches(string, string) bool; string.matches(string) bool
type(A) type(A); dyn(A) dyn
bool(bool) bool; bool(string) bool
bytes(bytes) bytes; bytes(string) bytes
double(double) double; double(int) double; double(uint) double; double(string) double
int(int) int; int(double) int; int(uint) int; int(string) int; int(timestamp) int; int(duration) int
uint(uint) uint; uint(double) uint; uint(int) uint; uint(string) uint
string(string) string; string(bool) string; string(bytes) string; string(double) string; string(int) string; string(uint) string
string(timestamp) string; string(duration) string; string(net.IP) string; string(net.CIDR) string
timestamp(timestamp) timestamp; timestamp(string) timestamp; timestamp(int) timestamp
duration(duration) duration; duration(string) duration; duration(int) duration
duration.getHours() int; duration.getMinutes() int; duration.getSeconds() int; duration.getMilliseconds() int
string.charAt(int) string; string.indexOf(string) int; string.indexOf(string, int) int
string.lastIndexOf(string) int; string.lastIndexOf(string, int) int; string.lowerAscii() string; string.upperAscii() string
string.replace(string, string) string; string.replace(string, string, int) string
string.split(string) list(string); string.split(string, int) list(string)
string.substring(int) string; string.substring(int, int) string; string.trim() string
string.format(list(dyn)) string; strings.quote(string) string; list(string).join() string; list(string).join(string) string
string.find(string) string; string.findAll(string) list(string); string.findAll(string, int) list(string)
list(A).indexOf(A) int; list(A).lastIndexOf(A) int
list(int).sum() int; list(uint).sum() uint; list(double).sum() double; list(duration).sum() duration
sets.contains(list(A), list(A)) bool; sets.equivalent(list(A), list(A)) bool; sets.intersects(list(A), list(A)) bool
url(string) kubernetes.URL; isURL(string) bool
kubernetes.URL.getScheme() string; kubernetes.URL.getHost() string; kubernetes.URL.getHostname() string; kubernetes.URL.getPort() string
kubernetes.URL.getEscapedPath() string; kubernetes.URL.getQuery() map(string, list(string))
quantity(string) kubernetes.Quantity; isQuantity(string) bool
sign(kubernetes.Quantity) int; kubernetes.Quantity.isInteger() bool; kubernetes.Quantity.asInteger() int
kubernetes.Quantity.asApproximateFloat() double; kubernetes.Quantity.isGreaterThan(kubernetes.Quantity) bool
kubernetes.Quantity.isLessThan(kubernetes.Quantity) bool; kubernetes.Quantity.compareTo(kubernetes.Quantity) int
kubernetes.Quantity.add(kubernetes.Quantity) kubernetes.Quantity; kubernetes.Quantity.add(int) kubernetes.Quantity
kubernetes.Quantity.sub(kubernetes.Quantity) kubernetes.Quantity; kubernetes.Quantity.sub(int) kubernetes.Quantity
ip(string) net.IP; isIP(string) bool; ip.isCanonical(string) bool; net.IP.family() int; net.IP.isUnspecified() bool
net.IP.isLoopback() bool; net.IP.isLinkLocalMulticast() bool; net.IP.isLinkLocalUnicast() bool; net.IP.isGlobalUnicast() bool
cidr(string) net.CIDR; isCIDR(string) bool; net.CIDR.containsIP(string) bool; net.CIDR.containsIP(net.IP) bool
net.CIDR.containsCIDR(string) bool; net.CIDR.containsCIDR(net.CIDR) bool; net.CIDR.ip() net.IP; net.CIDR.masked() net.CIDR
net.CIDR.prefixLength() int
format.named(string) optional_type(kubernetes.NamedFormat); kubernetes.NamedFormat.validate(string) optional_type(list(string))
optional_type(A).hasValue() bool; optional_type(A).value() A; optional_type(A).orValue(A) A; optional_type(A).or(optional_type(A)) optional_type(A)
optional.of(A) optional_type(A); optional.ofNonZeroValue(A) optional_type(A); optional.none() optional_type(A)
authorizer.path(string) pathCheck; authorizer.group(string) groupCheck; authorizer.serviceAccount(string, string) authorizer
pathCheck.check(string) decision; groupCheck.resource(string) resourceCheck; resourceCheck.check(string) decision
resourceCheck.subresource(string) resourceCheck; resourceCheck.namespace(string) resourceCheck; resourceCheck.name(string) resourceCheck
resourceCheck.fieldSelector(string) resourceCheck; resourceCheck.labelSelector(string) resourceCheck
decision.allowed() bool; decision.errored() bool; decision.error() string; decision.reason() string
`;

const formats =
  "dns1123Label dns1123Subdomain dns1035Label qualifiedName dns1123LabelPrefix dns1123SubdomainPrefix dns1035LabelPrefix labelValue uri uuid byte date datetime";
const timeParts =
  "getFullYear getMonth getDayOfYear getDate getDayOfMonth getDayOfWeek getHours getMinutes getSeconds getMilliseconds";

/** Namespaces whose functions look like methods of a variable. */
export const namespaces: ReadonlySet<string> = new Set(["strings", "sets", "ip", "format", "optional"]);

let known: Map<string, Overload[]> | undefined;

export function overloadsOf(name: string): readonly Overload[] {
  known ??= readTable();
  return known.get(name) ?? [];
}

function readTable(): Map<string, Overload[]> {
  const lines = table.trim().split(/\n|; /);
  for (const name of formats.split(" ")) lines.push(`format.${name}() kubernetes.NamedFormat`);
  for (const name of timeParts.split(" ")) lines.push(`timestamp.${name}() int`, `timestamp.${name}(string) int`);
  for (const kind of "int uint double bool string bytes timestamp duration".split(" ")) {
    for (const name of ["isSorted", "min", "max"])
      lines.push(`list(${kind}).${name}() ${name === "isSorted" ? "bool" : kind}`);
    for (const operator of ["<", "<=", ">", ">="]) lines.push(`_${operator}_(${kind}, ${kind}) bool`);
  }
  const numbers = ["int", "uint", "double"];
  for (const left of numbers)
    for (const right of numbers)
      if (left !== right)
        for (const operator of ["<", "<=", ">", ">="]) lines.push(`_${operator}_(${left}, ${right}) bool`);
  const overloads = new Map<string, Overload[]>();
  for (const line of lines) {
    const [, before = "", inner = "", result = ""] =
      /^(.*?)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\) (\S.*)$/.exec(
        line.replace(/^(list|map|optional_type)\(((?:[^()]|\([^()]*\))*)\)\./, "$1<$2>."),
      ) ?? [];
    const dot = before.lastIndexOf(".");
    const receiver = before.slice(0, Math.max(dot, 0)).replace("<", "(").replace(">", ")");
    const isMember = receiver !== "" && !namespaces.has(receiver);
    const name = isMember ? before.slice(dot + 1) : before;
    const args = [...(isMember ? [receiver] : []), ...splitTypes(inner)].map(named);
    const list = overloads.get(name) ?? [];
    list.push({ isMember, args, result: named(result) });
    overloads.set(name, list);
  }
  return overloads;
}

const short: Readonly<Record<string, string>> = {
  authorizer: "kubernetes.authorization.Authorizer",
  pathCheck: "kubernetes.authorization.PathCheck",
  groupCheck: "kubernetes.authorization.GroupCheck",
  resourceCheck: "kubernetes.authorization.ResourceCheck",
  decision: "kubernetes.authorization.Decision",
};

const named = (source: string): CelType => parseType(short[source.trim()] ?? source);
