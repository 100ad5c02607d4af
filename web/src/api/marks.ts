/** What is no slice of the store has a number among those of slices, below 0. Pure. */

/** Numbers up to here are of intervals that the page computed (views/timeline/overlap.ts). */
export const COMPUTED_IDS = -(2 ** 30);

export const isComputed = (sliceId: number) => sliceId <= COMPUTED_IDS;

/** Moments (src/serve/marks.h). */
export const isMark = (sliceId: number) => sliceId <= -2 && !isComputed(sliceId);

/** The slice number of a mark. */
export const sliceIdOfMark = (markId: number) => -2 - markId;

/** The mark of a slice number that isMark. */
export const markIdOf = (sliceId: number) => -2 - sliceId;
