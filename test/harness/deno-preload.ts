// Preloaded under Deno: tap recognises V8 call sites by their constructor's name, and Deno's have none of their own.

const original = Error.prepareStackTrace;
Error.prepareStackTrace = (_error, sites) => sites;
const [site] = new Error("probe").stack as unknown as object[];
Error.prepareStackTrace = original;
class CallSite {}
// On the prototype of call sites itself: what they inherit is Object, which must keep its name.
if (site) Object.defineProperty(Object.getPrototypeOf(site), "constructor", { value: CallSite, configurable: true });
