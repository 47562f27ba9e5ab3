// A flame graph on a canvas: wheel and drag, click to zoom, keyboard, tooltip.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useDark } from '../base/colours';
import { count, percent, size } from '../base/format';
import { useSize } from '../base/ui';
import { draw, nodeAt, ROW, rowTop, type Look, type Sight } from './draw';
import { functionOf, moduleOf, placeOf, selfOf, type Layout, type Match } from './layout';

interface Props {
	layout: Layout;
	blocks: boolean;
	upwards: boolean;
	match: Match | undefined;
	picked: number;
	onPick: (node: number) => void;
}

function Tip(props: { layout: Layout; node: number; x: number; y: number; blocks: boolean }) {
	const { layout, node } = props;
	const text = props.blocks ? count : size;
	const total = layout.amounts[node]!;
	const self = selfOf(layout, node);
	const { total: sum } = layout.flame;
	const error = props.blocks ? sum.blocks_error : sum.bytes_error;
	return (
		<div class="tip" role="tooltip" style={{ left: `${props.x}px`, top: `${props.y}px` }}>
			<strong>{functionOf(layout.flame, node)}</strong>
			<div class="dim">{[placeOf(layout.flame, node), moduleOf(layout.flame, node)].filter(Boolean).join(' · ')}</div>
			<div>
				{text(total)} · {percent(total, layout.amounts[0]!)} %{error ? ` (the whole ± ${text(error)})` : ''}
			</div>
			{self !== total && <div>{text(self)} of it by itself</div>}
			{layout.changes && <div>{`${layout.changes[node]! > 0 ? '+' : ''}${text(layout.changes[node]!)} since the base`}</div>}
		</div>
	);
}

export function Flame(props: Props) {
	const { layout } = props;
	const [box, { width, height }] = useSize<HTMLDivElement>();
	const canvas = useRef<HTMLCanvasElement>(null);
	const dark = useDark();
	const [zoomed, setZoomed] = useState(0);
	const [selected, setSelected] = useState(0);
	const [hover, setHover] = useState<{ node: number; x: number; y: number }>();
	const [sight, setSight] = useState<{ from: number; to: number; top: number }>({ from: 0, to: 1, top: 0 });
	const whole = layout.values[0] || 1;

	// A new tree is seen as a whole.
	useMemo(() => {
		setZoomed(0);
		setSelected(0);
		setSight({ from: 0, to: whole, top: 0 });
	}, [layout]);

	const full: Sight = { ...sight, width, height, upwards: props.upwards };
	const deepest = Math.max(0, layout.levels.length * ROW - height);
	const clampTop = (top: number) => Math.max(0, Math.min(deepest, top));

	useEffect(() => {
		const element = canvas.current;
		if (!element || !width || !height) return undefined;
		const frame = requestAnimationFrame(() => {
			const ratio = devicePixelRatio;
			if (element.width !== Math.round(width * ratio) || element.height !== Math.round(height * ratio)) {
				element.width = Math.round(width * ratio);
				element.height = Math.round(height * ratio);
			}
			const ctx = element.getContext('2d', { alpha: true })!;
			ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
			const look: Look = { dark, match: props.match, hovered: hover?.node ?? -1, picked: props.picked };
			draw(ctx, layout, full, look);
		});
		return () => cancelAnimationFrame(frame);
	}, [layout, width, height, sight, dark, props.match, props.picked, props.upwards, hover?.node]);

	const zoomTo = (node: number) => {
		setZoomed(node);
		setSelected(node);
		setSight((s) => ({ ...s, from: layout.x[node]!, to: layout.x[node]! + Math.max(layout.values[node]!, whole / 1e9) }));
	};
	const select = (node: number) => {
		setSelected(node);
		props.onPick(node);
		const top = layout.depth[node]! * ROW;
		setSight((s) => ({ ...s, top: top < s.top ? top : top + ROW > s.top + height ? clampTop(top + ROW - height) : s.top }));
	};

	useEffect(() => {
		const element = canvas.current;
		const onWheel = (event: WheelEvent) => {
			event.preventDefault();
			if (event.ctrlKey || event.metaKey) {
				setSight((s) => {
					const middle = s.from + ((s.to - s.from) * event.offsetX) / width;
					const factor = Math.exp(event.deltaY / 200);
					const span = Math.min(whole, Math.max(whole / 1e9, (s.to - s.from) * factor));
					const from = Math.max(0, Math.min(whole - span, middle - ((middle - s.from) / (s.to - s.from)) * span));
					return { ...s, from, to: from + span };
				});
			} else {
				setSight((s) => {
					const dx = ((event.shiftKey ? event.deltaY : event.deltaX) * (s.to - s.from)) / width;
					const from = Math.max(0, Math.min(whole - (s.to - s.from), s.from + dx));
					return { from, to: from + (s.to - s.from), top: clampTop(s.top + (event.shiftKey ? 0 : props.upwards ? -event.deltaY : event.deltaY)) };
				});
			}
		};
		element?.addEventListener('wheel', onWheel, { passive: false });
		return () => element?.removeEventListener('wheel', onWheel);
	}, [width, whole, deepest, props.upwards]);

	const childOf = (node: number) => (node + 1 < layout.end[node]! ? node + 1 : -1);
	const onKey = (event: KeyboardEvent) => {
		const parent = layout.parent[selected]!;
		const steps: Record<string, () => number> = {
			ArrowUp: () => (props.upwards ? childOf(selected) : parent),
			ArrowDown: () => (props.upwards ? parent : childOf(selected)),
			ArrowRight: () => (parent >= 0 && layout.end[selected]! < layout.end[parent]! ? layout.end[selected]! : -1),
			ArrowLeft: () => {
				let before = -1;
				if (parent >= 0) for (let c = parent + 1; c < selected; c = layout.end[c]!) before = c;
				return before;
			},
			Home: () => 0,
		};
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

	const at = (event: MouseEvent) => nodeAt(layout, full, event.offsetX, event.offsetY);
	return (
		<div class="flame" ref={box}>
			<canvas
				ref={canvas}
				style={{ width: `${width}px`, height: `${height}px` }}
				tabIndex={0}
				role="application"
				aria-label={`Flame graph. Selected: ${functionOf(layout.flame, selected)}, ${percent(layout.values[selected]!, whole)} percent. Arrows move, Enter zooms, Escape shows all.`}
				onKeyDown={onKey}
				onClick={(event) => {
					const node = at(event);
					if (node >= 0) select(node);
				}}
				onDblClick={(event) => {
					const node = at(event);
					zoomTo(node < 0 || node === zoomed ? 0 : node);
				}}
				onMouseMove={(event) => {
					const node = at(event);
					setHover(node < 0 ? undefined : { node, x: Math.min(event.offsetX + 12, Math.max(0, width - 340)), y: Math.min(event.offsetY + 16, Math.max(0, height - 90)) });
				}}
				onMouseLeave={() => setHover(undefined)}
			/>
			{zoomed > 0 && (
				<button type="button" class="button unzoom" onClick={() => zoomTo(0)}>
					Show all
				</button>
			)}
			{hover && <Tip layout={layout} node={hover.node} x={hover.x} y={hover.y} blocks={props.blocks} />}
			{rowTop(full, 0) > height && <span class="hidden" />}
		</div>
	);
}
