package api

import (
	"github.com/tidewheel/tidewheel/client/wire"
	"github.com/tidewheel/tidewheel/engine"
	"github.com/tidewheel/tidewheel/web/service"
)

func viewBinary(binary *engine.Binary, users []service.BinaryUser) wire.Binary {
	view := wire.Binary{
		Namespace: binary.Namespace, Name: binary.Name, Revision: binary.Revision, Versions: []wire.BinaryVersion{},
		Aliases: viewAliases(binary), UpdatedAt: binary.UpdatedAt,
	}
	for _, user := range users {
		view.UsedBy = append(view.UsedBy, user.Label())
	}
	for _, v := range binary.Versions {
		view.Versions = append(view.Versions, viewVersion(v))
	}
	for _, m := range binary.AliasHistory {
		view.AliasHistory = append(view.AliasHistory, viewMove(m))
	}
	return view
}

func viewAliases(binary *engine.Binary) map[string]int {
	if binary.Aliases == nil {
		return map[string]int{}
	}
	return binary.Aliases
}

func viewVersion(v engine.BinaryVersion) wire.BinaryVersion {
	return wire.BinaryVersion{N: v.N, SHA256: v.SHA256, Size: v.Size, Kind: v.Kind, Arch: v.Arch, UploadedBy: v.UploadedBy, At: v.At}
}

func viewMove(m engine.AliasMove) wire.AliasMove {
	return wire.AliasMove{Alias: m.Alias, From: m.From, To: m.To, By: m.By, At: m.At}
}
