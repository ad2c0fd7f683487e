"""Print Spack's merged configuration as JSON. Spack's own Python runs this. The names are the same in 0.23 and 1.x."""

import json

import spack.config
import spack.repo
import spack.spec

packages = spack.config.get("packages")
virtuals = [name for name in packages if "require" in packages[name] and spack.repo.PATH.is_virtual(name)]
print(
    json.dumps(
        {
            "packages": packages,
            "compilers": spack.config.get("compilers"),
            "compiler_packages": sorted(spack.repo.PATH.packages_with_tags("compiler")),
            "providers": {
                name: sorted({found.name for found in spack.repo.PATH.providers_for(spack.spec.Spec(name))})
                for name in virtuals
            },
            "repos": {repo.namespace: str(repo.root) for repo in spack.repo.PATH.repos},
        }
    )
)
