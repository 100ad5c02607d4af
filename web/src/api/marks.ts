/** Marks that are no slices have numbers among those of slices (src/serve/marks.h). Pure. */

export const isMark = (sliceId: number) => sliceId <= -2;

/** The slice number of a mark. */
export const sliceIdOfMark = (markId: number) => -2 - markId;

/** The mark of a slice number that isMark. */
export const markIdOf = (sliceId: number) => -2 - sliceId;
