// The result of a probe, as upstream counts it.

export type ProbeVerdict = "success" | "failure" | "unknown";
