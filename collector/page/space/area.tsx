// One area of the address space: its pages as squares on a canvas, in the order of addresses, rows
// from the left to the right.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { styleValue, useDark } from '../base/colours';
import { count, percent, size } from '../base/format';
import { usePicture } from '../base/picture';
import { hex } from '../maps/text';
import { fillColour } from './colours';
import { cellCount, cellOf, type Area, type Cell } from './layout';

export const CELL = 9; // px, one of them between squares

export function cellInWords(cell: Cell): string {
	if (!cell.used)
		return cell.pages === 1
			? 'no block in use'
			: `${count(cell.pages)} pages without a block in use`;
	const full = `${percent(cell.fill, 1)} % full, ${size(cell.used)} in use`;
	return cell.pages === 1
		? full
		: `${count(cell.pages)} pages, ${full}` +
				`${cell.empty ? `, ${count(cell.empty)} without a block` : ''}`;
}

export function AreaPicture(props: {
	area: Area;
	pageSize: number;
	pagesPerCell: number;
	width: number;
	/** Address that is selected. */
	picked: number | undefined;
	onPick: (cell: Cell) => void;
}) {
	const { area, pageSize, pagesPerCell } = props;
	const canvas = useRef<HTMLCanvasElement>(null);
	const dark = useDark();
	const [hover, setHover] = useState<{ cell: number; x: number; y: number }>();
	const columns = Math.max(1, Math.floor((props.width + 1) / CELL));
	const cells = cellCount(area, pagesPerCell);
	const rows = Math.ceil(cells / columns);
	const [width, height] = [Math.min(cells, columns) * CELL, rows * CELL];
	const picked =
		props.picked !== undefined && props.picked >= area.from && props.picked < area.to
			? Math.floor((props.picked - area.from) / (pageSize * pagesPerCell))
			: -1;
	const fills = useMemo(
		() =>
			Float32Array.from(
				{ length: cells },
				(_, i) => cellOf(area, i, pagesPerCell, pageSize).fill,
			),
		[area, pagesPerCell, pageSize],
	);

	useEffect(() => {
		const element = canvas.current;
		if (!element) return;
		const ratio = devicePixelRatio;
		element.width = Math.round(width * ratio);
		element.height = Math.round(height * ratio);
		const ctx = element.getContext('2d')!;
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		for (let i = 0; i < cells; i++) {
			ctx.fillStyle = fillColour(fills[i]!, dark);
			ctx.fillRect((i % columns) * CELL, Math.floor(i / columns) * CELL, CELL - 1, CELL - 1);
		}
		const frame = (i: number, colour: string) => {
			ctx.strokeStyle = colour;
			ctx.lineWidth = 2;
			ctx.strokeRect(
				(i % columns) * CELL,
				Math.floor(i / columns) * CELL,
				CELL - 1,
				CELL - 1,
			);
		};
		if (hover) frame(hover.cell, styleValue('dim'));
		if (picked >= 0) frame(picked, styleValue('text'));
	}, [fills, columns, width, height, dark, hover?.cell, picked]);

	const pages = pagesPerCell === 1 ? 'a page' : `${count(pagesPerCell)} pages`;
	usePicture(canvas, () => ({
		title:
			`0x${hex(area.from)}${area.name ? ` ${area.name}` : ''}, ` +
			`${size(area.to - area.from)}: a square is ${pages}, ` +
			size(pageSize * pagesPerCell),
		width: Math.max(width, props.width),
		height,
		draw: (pen) => {
			for (let i = 0; i < cells; i++) {
				pen.fillStyle = fillColour(fills[i]!, dark);
				pen.fillRect(
					(i % columns) * CELL,
					Math.floor(i / columns) * CELL,
					CELL - 1,
					CELL - 1,
				);
			}
		},
	}));

	const at = (event: MouseEvent): number => {
		const column = Math.floor(event.offsetX / CELL);
		const cell = Math.floor(event.offsetY / CELL) * columns + column;
		return column < columns && cell < cells ? cell : -1;
	};
	const pick = (cell: number) => props.onPick(cellOf(area, cell, pagesPerCell, pageSize));
	const onKey = (event: KeyboardEvent) => {
		const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns, ArrowUp: -columns }[
			event.key
		];
		if (step === undefined) return;
		event.preventDefault();
		pick(picked < 0 ? 0 : Math.max(0, Math.min(cells - 1, picked + step)));
	};
	const shown = hover && cellOf(area, hover.cell, pagesPerCell, pageSize);
	const chosen = picked >= 0 ? cellOf(area, picked, pagesPerCell, pageSize) : undefined;

	return (
		<div class="pages" style={{ width: `${width}px`, height: `${height}px` }}>
			<canvas
				ref={canvas}
				style={{ width: `${width}px`, height: `${height}px` }}
				tabIndex={0}
				role="application"
				aria-label={
					`Pages from ${hex(area.from)}. ` +
					`${chosen ? `Selected: ${hex(chosen.from)}, ${cellInWords(chosen)}.` : ''}` +
					' Arrows select.'
				}
				onKeyDown={onKey}
				onClick={(event) => {
					const cell = at(event);
					if (cell >= 0) pick(cell);
				}}
				onMouseMove={(event) => {
					const cell = at(event);
					setHover(
						cell < 0
							? undefined
							: {
									cell,
									x: Math.max(0, Math.min(event.offsetX + 12, props.width - 280)),
									y: event.offsetY + 16,
								},
					);
				}}
				onMouseLeave={() => setHover(undefined)}
			/>
			{shown && (
				<div
					class="tip"
					role="tooltip"
					style={{ left: `${hover.x}px`, top: `${hover.y}px` }}
				>
					<code>{hex(shown.from)}</code>
					<div>{cellInWords(shown)}</div>
				</div>
			)}
		</div>
	);
}
