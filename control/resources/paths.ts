// Paths inside volumes, as fields name them: where they may not lead.

import { type FieldErrors, invalid } from "../machinery/field-error.ts";

export function validateNoBacksteps(path: string, field: string): FieldErrors {
  return path.split("/").includes("..") ? [invalid(field, path, "must not contain '..'")] : [];
}

/** Stays below where it begins. */
export function validateDescendingPath(path: string, field: string): FieldErrors {
  const absolute = path.startsWith("/") ? [invalid(field, path, "must be a relative path")] : [];
  return [...absolute, ...validateNoBacksteps(path, field)];
}

/** Also keeps clear of the names that writers of volumes use themselves, which begin with two dots. */
export function validateFilePath(path: string, field: string): FieldErrors {
  const errors = validateDescendingPath(path, field);
  if (path.startsWith("..") && !path.startsWith("../")) errors.push(invalid(field, path, "must not start with '..'"));
  return errors;
}
