// The window of time: dragged over the strip, moved by its middle, or by an edge; and by keys.
// Views follow while it moves: what is asked is always the latest place, when the one before has
// been answered, so that there is something to see; it is asked at once, and the question before
// given up, as soon as the pointer rests.
import type uPlot from 'uplot';

const GAP_MS = 60; // between two places
const REST_MS = 180;
const EDGE = 5; // px to either side
const CLICK = 3; // px: whoever moves less has clicked

export interface Range {
	from: number;
	to: number;
}

/** Gives `take` the latest of what is put in, as fast as views follow. */
export class Follower {
	private latest: Range | undefined;
	private timer: ReturnType<typeof setTimeout> | undefined;
	private put = 0;
	private taken = 0;

	constructor(private readonly take: (range: Range) => void) {}

	follow(range: Range): void {
		this.latest = range;
		this.put = performance.now();
		this.timer ??= setTimeout(() => this.look(), Math.max(0, this.taken + GAP_MS - this.put));
	}

	/** It rests: now. */
	end(): void {
		clearTimeout(this.timer);
		this.timer = undefined;
		if (this.latest) this.take(this.latest);
		this.latest = undefined;
	}

	private look(): void {
		this.timer = undefined;
		if (!this.latest) return;
		const now = performance.now();
		const busy = document.querySelector('main .stale, main .wait') !== null;
		if (busy && now - this.put < REST_MS) {
			this.timer = setTimeout(() => this.look(), 20);
			return;
		}
		const range = this.latest;
		this.latest = undefined;
		this.taken = now;
		this.take(range);
	}
}

/** As precise as a pixel, so that addresses and chips stay short. */
export function rounded(range: Range, span: number): Range {
	const unit = 10 ** Math.max(0, Math.floor(Math.log10(Math.max(1, span) / 2000)));
	return {
		from: Math.round(range.from / unit) * unit,
		to: Math.max(1, Math.round(range.to / unit)) * unit,
	};
}

/** Moved by `by`, within the recording, as wide as before. */
export function moved(range: Range, by: number, end: number): Range {
	const width = Math.min(end, range.to - range.from);
	const from = Math.max(0, Math.min(end - width, range.from + by));
	return { from, to: from + width };
}

interface Drag {
	what: 'new' | 'from' | 'to' | 'move';
	x: number;
	range: Range;
	moving: boolean;
}

function hit(u: uPlot, range: Range | undefined, x: number): Drag['what'] {
	if (!range) return 'new';
	const [left, right] = [u.valToPos(range.from, 'x'), u.valToPos(range.to, 'x')];
	if (Math.abs(x - left) <= EDGE && x < (left + right) / 2 + 1) return 'from';
	if (Math.abs(x - right) <= EDGE) return 'to';
	return x > left && x < right ? 'move' : 'new';
}

const CURSORS = { new: 'crosshair', from: 'ew-resize', to: 'ew-resize', move: 'grab' };

export interface Hands {
	range: () => Range | undefined;
	end: () => number;
	/** While it is dragged; `first`: it begins. */
	onMove: (range: Range, first: boolean) => void;
	onDone: () => void;
	onClick: (ns: number) => void;
}

/** Lets the pointer drag over the plot. */
export function dragOver(u: uPlot, hands: Hands): void {
	const { over } = u;
	let drag: Drag | undefined;
	const clamped = (ns: number) => Math.max(0, Math.min(hands.end(), ns));

	const place = (x: number): Range => {
		const { what, range } = drag!;
		const ns = u.posToVal(x, 'x');
		const by = ns - u.posToVal(drag!.x, 'x');
		if (what === 'move') return moved(range, by, hands.end());
		const other =
			what === 'from' ? range.to : what === 'to' ? range.from : u.posToVal(drag!.x, 'x');
		return { from: clamped(Math.min(ns, other)), to: clamped(Math.max(ns, other)) };
	};
	over.style.touchAction = 'pan-y';
	over.addEventListener('pointerdown', (event) => {
		if (event.button !== 0) return;
		const what = hit(u, hands.range(), event.offsetX);
		drag = {
			what,
			x: event.offsetX,
			range: hands.range() ?? { from: 0, to: 0 },
			moving: false,
		};
		over.setPointerCapture(event.pointerId);
	});
	over.addEventListener('pointermove', (event) => {
		if (!drag) {
			over.style.cursor = CURSORS[hit(u, hands.range(), event.offsetX)];
			return;
		}
		const first = !drag.moving;
		if (first && Math.abs(event.offsetX - drag.x) < CLICK) return;
		drag.moving = true;
		hands.onMove(place(event.offsetX), first);
	});
	const up = (event: PointerEvent) => {
		const was = drag;
		drag = undefined;
		if (!was) return;
		if (was.moving) hands.onDone();
		else if (event.type === 'pointerup') hands.onClick(u.posToVal(event.offsetX, 'x'));
	};
	over.addEventListener('pointerup', up);
	over.addEventListener('pointercancel', up);
}
