// A flame graph on a canvas: wheel and drag, double click to zoom, keyboard, tooltip. A second canvas above it has what moves with the pointer.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useDark } from '../base/colours';
import { count, percent, size } from '../base/format';
import { useSize } from '../base/ui';
import { nodeAtPoint, Painter, ROW, type Sight } from './draw';
import { functionOf, moduleOf, placeOf, type Layout, type Match } from './layout';

interface Props {
	layout: Layout;
	blocks: boolean;
	match: Match | undefined;
	/** A frame. */
	picked: number;
	onPick: (node: number) => void;
}

function Tip(props: { layout: Layout; node: number; x: number; y: number; blocks: boolean }) {
	const { layout, node } = props;
	const text = props.blocks ? count : size;
	const frame = layout.frame[node]!;
	const total = layout.amount[node]!;
	const self = layout.self[node]!;
	const error = props.blocks ? layout.total.blocks_error : layout.total.bytes_error;
	return (
		<div class="tip" role="tooltip" style={{ left: `${props.x}px`, top: `${props.y}px` }}>
			<strong>{functionOf(layout, frame)}</strong>
			<div class="dim">{[placeOf(layout, frame), moduleOf(layout, frame)].filter(Boolean).join(' · ')}</div>
			<div>
				{text(total)} · {percent(total, layout.amount[0]!)} %{error ? ` (the whole ± ${text(error)})` : ''}
			</div>
			{self !== total && <div>{text(self)} of it by itself</div>}
			{layout.change && (
				<div>
					{layout.change[node]! > 0 ? '+' : ''}
					{text(layout.change[node]!)} since the base
				</div>
			)}
		</div>
	);
}

/** A context of the size of its canvas, in CSS pixels. */
function contextOf(canvas: HTMLCanvasElement | null, width: number, height: number): CanvasRenderingContext2D | null {
	const ratio = devicePixelRatio;
	if (!canvas || !width || !height) return null;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
	}
	const ctx = canvas.getContext('2d');
	ctx?.setTransform(ratio, 0, 0, ratio, 0, 0);
	return ctx;
}

export function Flame(props: Props) {
	const { layout, match, picked } = props;
	const [box, { width, height }] = useSize<HTMLDivElement>();
	const canvas = useRef<HTMLCanvasElement>(null);
	const marks = useRef<HTMLCanvasElement>(null);
	const dark = useDark();
	const [selected, setSelected] = useState(0);
	const [hover, setHover] = useState<{ node: number; x: number; y: number }>();
	const [view, setView] = useState({ from: 0, to: 1, top: 0 });
	const painter = useMemo(() => new Painter(layout, dark), [layout, dark]);
	const whole = layout.width[0] || 1;
	const sight: Sight = { ...view, width, height };
	const deepest = Math.max(0, (layout.levels.length - 1) * ROW - height);
	const clampTop = (top: number) => Math.max(0, Math.min(deepest, top));

	// A new tree is seen as a whole.
	useLayoutEffect(() => {
		setSelected(0);
		setHover(undefined);
		setView({ from: 0, to: layout.width[0] || 1, top: 0 });
	}, [layout]);

	useEffect(() => {
		const frame = requestAnimationFrame(() => {
			const ctx = contextOf(canvas.current, width, height);
			if (ctx) painter.paint(ctx, sight, match, picked);
		});
		return () => cancelAnimationFrame(frame);
	}, [painter, width, height, view, match, picked]);
	useEffect(() => {
		const frame = requestAnimationFrame(() => {
			const ctx = contextOf(marks.current, width, height);
			if (ctx) painter.paintMarks(ctx, sight, hover?.node ?? -1, selected || -1);
		});
		return () => cancelAnimationFrame(frame);
	}, [painter, width, height, view, hover?.node, selected]);

	const zoomTo = (node: number) => {
		setSelected(node);
		setView((v) => ({ ...v, from: layout.x[node]!, to: layout.x[node]! + Math.max(layout.width[node]!, whole / 1e9) }));
	};
	const select = (node: number) => {
		const top = layout.depth[node]! * ROW;
		setSelected(node);
		props.onPick(node);
		setView((v) => ({ ...v, top: top < v.top ? top : top + ROW > v.top + height ? clampTop(top + ROW - height) : v.top }));
	};

	useEffect(() => {
		const element = canvas.current;
		const onWheel = (event: WheelEvent) => {
			event.preventDefault();
			setView((v) => {
				const span = v.to - v.from;
				if (event.ctrlKey || event.metaKey) {
					const middle = v.from + (span * event.offsetX) / width;
					const wanted = Math.min(whole, Math.max(whole / 1e9, span * Math.exp(event.deltaY / 200)));
					const from = Math.max(0, Math.min(whole - wanted, middle - ((middle - v.from) / span) * wanted));
					return { ...v, from, to: from + wanted };
				}
				const dx = ((event.shiftKey ? event.deltaY : event.deltaX) * span) / width;
				const from = Math.max(0, Math.min(whole - span, v.from + dx));
				return { from, to: from + span, top: clampTop(v.top + (event.shiftKey ? 0 : event.deltaY)) };
			});
		};
		element?.addEventListener('wheel', onWheel, { passive: false });
		return () => element?.removeEventListener('wheel', onWheel);
	}, [width, whole, deepest]);

	const { parent, children } = layout;
	const brother = (step: number) => {
		const above = parent[selected]!;
		const node = selected + step;
		return above >= 0 && node >= children[above]! && node < children[above + 1]! ? node : -1;
	};
	const steps: Record<string, () => number> = {
		ArrowUp: () => parent[selected]!,
		ArrowDown: () => (children[selected]! < children[selected + 1]! ? children[selected]! : -1),
		ArrowRight: () => brother(1),
		ArrowLeft: () => brother(-1),
		Home: () => 0,
	};
	const onKey = (event: KeyboardEvent) => {
		const step = steps[event.key];
		if (step) {
			const node = step();
			if (node >= 0) select(node);
		} else if (event.key === 'Enter') {
			zoomTo(selected);
		} else if (event.key === 'Escape' || event.key === 'Backspace') {
			zoomTo(0);
		} else {
			return;
		}
		event.preventDefault();
	};
	const at = (event: MouseEvent) => nodeAtPoint(layout, sight, event.offsetX, event.offsetY);
	const style = { width: `${width}px`, height: `${height}px` };

	return (
		<div class="flame" ref={box}>
			<canvas
				ref={canvas}
				style={style}
				tabIndex={0}
				role="application"
				aria-label={`Flame graph. Selected: ${functionOf(layout, layout.frame[selected] ?? -1)}, ${percent(layout.amount[selected] ?? 0, layout.amount[0]!)} percent. Arrows move, Enter zooms, Escape shows all.`}
				onKeyDown={onKey}
				onClick={(event) => {
					const node = at(event);
					if (node >= 0) select(node);
				}}
				onDblClick={(event) => {
					const node = at(event);
					zoomTo(node < 0 || layout.width[node] === view.to - view.from ? 0 : node);
				}}
				onMouseMove={(event) => {
					const node = at(event);
					setHover(node < 0 ? undefined : { node, x: Math.min(event.offsetX + 12, Math.max(0, width - 340)), y: Math.min(event.offsetY + 16, Math.max(0, height - 90)) });
				}}
				onMouseLeave={() => setHover(undefined)}
			/>
			<canvas ref={marks} class="marks" style={style} aria-hidden="true" />
			{view.to - view.from < whole && (
				<button type="button" class="button unzoom" onClick={() => zoomTo(0)}>
					Show all
				</button>
			)}
			{hover && <Tip layout={layout} node={hover.node} x={hover.x} y={hover.y} blocks={props.blocks} />}
		</div>
	);
}
