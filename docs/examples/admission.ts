// An admission step with settings: pods whose images come from elsewhere than the registries named are refused.

import type { AdmissionPlugin, Plugin } from "../../plugins/kit/mod.ts";

interface Settings {
  readonly registries: readonly string[];
}

const fault = (code: string, message: string) => Object.assign(new Error(message), { name: "Fault", code });

function trusted({ registries }: Settings): AdmissionPlugin {
  return {
    name: "TrustedRegistries",
    handles: ({ resource, subresource, operation }) =>
      resource === "pods" && subresource === "" && (operation === "CREATE" || operation === "UPDATE"),
    validate({ name, object }) {
      const { containers = [] } = (object?.["spec"] ?? {}) as { containers?: { image: string }[] };
      const stranger = containers.find(({ image }) => !registries.some((one) => image.startsWith(`${one}/`)));
      if (stranger)
        throw fault("forbidden", `pods "${name}" is forbidden: ${stranger.image} is not from ${registries.join(", ")}`);
    },
  };
}

export default {
  kind: { name: "admission" },
  name: "TrustedRegistries",
  // What stands under plugin-settings, checked once at the start.
  configure(raw) {
    const { registries } = (raw ?? {}) as Partial<Settings>;
    if (!Array.isArray(registries))
      throw fault("invalid", "registries: must be a list, such as [registry.example.dev]");
    return { registries };
  },
  open: ({ settings }) => trusted(settings),
} satisfies Plugin<AdmissionPlugin, Settings>;
