// Pod templates inside workloads: defaults, checks, and what their lists show of them.

import { labelSelectorOf } from "../../plugins/kit/selector.ts";
import type { ObjectMeta, PodSpec } from "../../plugins/kit/objects/types.ts";
import { type FieldErrors, forbidden, invalid, notSupported, required } from "./field-error.ts";
import { isEmptySelector, type LabelSelector, validateLabelSelector } from "./label-selector.ts";
import { validateAnnotations, validateLabels } from "./object-meta.ts";
import { defaultPodSpec } from "./pod-spec/defaults.ts";
import { validatePodSpec } from "./pod-spec/validate.ts";
import { type Column } from "./definition.ts";
import { wideColumn } from "./print.ts";

export interface PodTemplate {
  metadata?: ObjectMeta;
  spec?: PodSpec;
}

export function defaultTemplate(template: PodTemplate | undefined): void {
  if (!template) return;
  template.metadata ??= {};
  if (template.spec) defaultPodSpec(template.spec);
}

export function validateTemplate(template: PodTemplate | undefined, field: string): FieldErrors {
  return [
    ...validateLabels(template?.metadata?.labels, `${field}.labels`),
    ...validateAnnotations(template?.metadata?.annotations, `${field}.annotations`),
    ...validatePodSpec(template?.spec, `${field}.spec`),
    ...((template?.spec?.ephemeralContainers?.length ?? 0) > 0
      ? [forbidden(`${field}.spec.ephemeralContainers`, "ephemeral containers not allowed in pod template")]
      : []),
  ];
}

/** The usual rules of a workload: a selector that is not empty and matches its own template, and pods that restart. */
export function validateWorkload(
  spec: { selector?: LabelSelector; template?: PodTemplate },
  { kind, emptyFor = kind.toLowerCase() }: { kind: string; emptyFor?: string },
): FieldErrors {
  const errors: FieldErrors = [];
  const { selector, template } = spec;
  if (!selector) errors.push(required("spec.selector"));
  else {
    errors.push(...validateLabelSelector(selector, "spec.selector"));
    if (isEmptySelector(selector))
      errors.push(invalid("spec.selector", selector, `empty selector is invalid for ${emptyFor}`));
    else if (errors.length === 0 && !labelSelectorOf(selector).matches(template?.metadata?.labels))
      errors.push(
        invalid(
          "spec.template.metadata.labels",
          template?.metadata?.labels ?? null,
          "`selector` does not match template `labels`",
        ),
      );
  }
  if (!template) return [...errors, required("spec.template")];
  errors.push(...validateTemplate(template, "spec.template"));
  const { restartPolicy, activeDeadlineSeconds } = template.spec ?? {};
  if (restartPolicy !== undefined && restartPolicy !== "Always")
    errors.push(notSupported("spec.template.spec.restartPolicy", restartPolicy, ["Always"]));
  if (activeDeadlineSeconds != null)
    errors.push(
      forbidden("spec.template.spec.activeDeadlineSeconds", `activeDeadlineSeconds in ${kind} is not Supported`),
    );
  return errors;
}

export const templateColumns: readonly Column[] = [
  wideColumn("Containers", "The names of the containers in the template."),
  wideColumn("Images", "The images of the containers in the template."),
  wideColumn("Selector", "Which pods belong to it."),
];

export function templateCells(template: PodTemplate | undefined): string[] {
  const containers = template?.spec?.containers ?? [];
  return [containers.map(({ name }) => name).join(","), containers.map(({ image }) => image ?? "").join(",")];
}
