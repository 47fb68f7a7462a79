/** What a picture shows: the classes of time, and `wait`, which only timelines have. */
import { CLASSES, CLASS_MEANING, type Class } from "./generated.js";

export { CLASSES, type Class };
export const KINDS = [...CLASSES, "wait"] as const;
export type Kind = (typeof KINDS)[number];

export const MEANING: Record<Kind, string> = { ...CLASS_MEANING, wait: "a thread blocks until something else is done" };
