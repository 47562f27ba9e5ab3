// Answers of the REST API (docs/rest-api.md) under the names that the page has for them. What they
// are is written by the collector: answers.ts.
import type { AllSide, MatchedSide, Recording, Time } from './answers';

export type {
	Allocation,
	AllocationGroup,
	AllocationGroups,
	Allocations,
	Analysis,
	Backtrace,
	Death as Deallocation,
	Diff,
	DiffGroup,
	Finding,
	Flame,
	Frame,
	Gap,
	Group as Site,
	Hidden,
	Histogram,
	Leak,
	LeaksAndSuppressed as Leaks,
	Ledger,
	LifetimeClass,
	Moment as Sites,
	Question,
	RecordingState as State,
	Recordings as Changes,
	Report,
	Script,
	Series as Band,
	SizeClass,
	Source as SourceText,
	Sql as Rows,
	Time,
	Timeline,
	TimelineMaps as ProcessFigures,
	Usage as Sum,
} from './answers';

export type Stream = Recording;
export type StreamState = Recording['state'];

/** Of some blocks: of those of a backtrace that match, or of all with that backtrace. */
export type GroupSums = AllSide | MatchedSide;

export function nanoseconds(time: Time): number {
	return time.secs * 1e9 + time.fract_nsecs;
}
