// The views of a recording. Each is a folder of its own.
import type { ComponentType } from 'preact';
import { AccountView } from '../account/account';
import { AllocationsView } from '../allocations/allocations';
import type { Stream } from '../api/types';
import { BandsView } from '../bands/bands';
import type { Address } from '../base/address';
import { DiffView } from '../diff/diff';
import { FiguresView } from '../figures/figures';
import { FlameView } from '../flame/view';
import { HistogramView } from '../histogram/histogram';
import { LeaksView } from '../leaks/leaks';
import { MapsView } from '../maps/maps';
import { Overview } from '../overview/overview';
import { SourceView } from '../source/source';
import { SpaceView } from '../space/space';
import { SqlView } from '../sql/view';
import { SitesView } from '../table/sites';
import { TemporaryView } from '../temporary/temporary';

export interface ViewProps {
	address: Address;
	stream: Stream;
}

/** `group`: a heading above this one and those that follow. */
export const VIEWS: {
	name: string;
	title: string;
	group?: string;
	view: ComponentType<ViewProps>;
}[] = [
	{ name: 'overview', title: 'Overview', view: Overview },
	{ name: 'bands', title: 'Bands', view: BandsView },
	{ name: 'flame', title: 'Flame graph', view: FlameView },
	{ name: 'diff', title: 'Differences', view: DiffView },
	{ name: 'sites', title: 'Call sites', view: SitesView },
	{ name: 'leaks', title: 'Leaks', view: LeaksView },
	{ name: 'temporary', title: 'Temporary', view: TemporaryView },
	{ name: 'allocations', title: 'Allocations', view: AllocationsView },
	{ name: 'histogram', title: 'Sizes, lifetimes', view: HistogramView },
	{ name: 'maps', title: 'Memory maps', group: 'Process', view: MapsView },
	{ name: 'space', title: 'Address space', view: SpaceView },
	{ name: 'figures', title: 'Figures', view: FiguresView },
	{ name: 'source', title: 'Source', group: 'More', view: SourceView },
	{ name: 'sql', title: 'SQL', view: SqlView },
	{ name: 'account', title: 'Account', view: AccountView },
];

export function viewOf(name: string): ComponentType<ViewProps> {
	return (VIEWS.find((v) => v.name === name) ?? VIEWS[0]!).view;
}
