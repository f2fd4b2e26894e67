// Pod templates inside workloads: defaults, checks, and what their lists show of them.

import { labelSelectorOf } from "../../plugins/kit/kube/selector.ts";
import type { ObjectMeta, PodSpec } from "../../plugins/kit/kube/objects/types.ts";
import { type FieldErrors, forbidden, goLabels, invalid, notSupported, required } from "../machinery/field-error.ts";
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

/** A workload always has a template, said or not. */
export function defaultTemplate(owner: { template?: PodTemplate | null }): void {
  const template = (owner.template ??= {});
  template.metadata ??= {};
  defaultPodSpec((template.spec ??= {} as PodSpec));
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

/** Whether no selector can be made of it: a key, an operator or the number of values is wrong. */
const isUnreadable = (selector: LabelSelector | undefined): boolean => validateLabelSelector(selector, "").length > 0;

/** The usual rules of a workload: a selector that is not empty and matches its own template, and pods that restart. */
export function validateWorkload(
  spec: { selector?: LabelSelector; template?: PodTemplate },
  { kind, emptyFor = kind.toLowerCase() }: { kind: string; emptyFor?: string },
): FieldErrors {
  const errors: FieldErrors = [];
  const { selector, template } = spec;
  const isDaemonSet = kind === "DaemonSet";
  if (!selector && !isDaemonSet) errors.push(required("spec.selector"));
  errors.push(...validateLabelSelector(selector, "spec.selector"));
  if (selector && isEmptySelector(selector))
    errors.push(invalid("spec.selector", selector, `empty selector is invalid for ${emptyFor}`));
  if (isUnreadable(selector)) {
    // Without a selector to hold it to, nothing is said of the template; but for daemon sets it is.
    if (!isDaemonSet) return [...errors, invalid("spec.selector", selector, "invalid label selector")];
  } else {
    const isMatch = selector ? labelSelectorOf(selector).matches(template?.metadata?.labels) : false;
    if (!isMatch && !(selector && isEmptySelector(selector)))
      errors.push(
        invalid(
          "spec.template.metadata.labels",
          goLabels(template?.metadata?.labels),
          "`selector` does not match template `labels`",
        ),
      );
  }
  if (!template) return errors;
  // Of stateful sets upstream looks at no more of the template: what is wrong with it shows when its pods are made.
  if (kind !== "StatefulSet") errors.push(...validateTemplate(template, "spec.template"));
  else
    errors.push(
      ...validateLabels(template.metadata?.labels, "spec.template.labels"),
      ...validateAnnotations(template.metadata?.annotations, "spec.template.annotations"),
    );
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
