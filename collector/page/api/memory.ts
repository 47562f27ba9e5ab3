// Answers of the REST API (docs/rest-api.md) about the memory of the process, under the names that
// the page has for them: maps, pages, figures.
import type { Time } from './answers';

export type {
	Allocation as Block,
	Call,
	Fragmentation,
	FragmentationTimeline,
	HeapRegion,
	Mallopt,
	Map as Mapping,
	MapReading as Usage,
	MapRegion,
	Maps,
	Regions,
	TimelineMaps as KernelFigures,
} from './answers';

/** ns from the start of a recording, whose `timestamp` is `start`, to a time since the epoch. */
export function sinceStart(time: Time, start: Time): number {
	return (time.secs - start.secs) * 1e9 + (time.fract_nsecs - start.fract_nsecs);
}
