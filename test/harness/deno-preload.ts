// Preloaded under Deno: tap recognises V8 call sites by their constructor's name, which Deno leaves empty.

const original = Error.prepareStackTrace;
Error.prepareStackTrace = (_error, sites) => sites;
const [site] = new Error("probe").stack as unknown as object[];
Error.prepareStackTrace = original;
const constructor = site && Object.getPrototypeOf(site)?.constructor;
if (constructor && constructor.name !== "CallSite") Object.defineProperty(constructor, "name", { value: "CallSite" });
