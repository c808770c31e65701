"""torch's DataLoader over image files with torchvision, with 0 or 2 workers; pandas for CSV files."""

from pipeline_measure import parse_arguments, run

arguments = parse_arguments(["workers0", "workers2", "pandas"])

import torch

torch.set_num_threads(arguments.threads)
if arguments.mode == "pandas":
    import pandas


def jpeg():
    from torchvision import datasets, transforms

    normalize = transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
    steps = [transforms.RandomCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor(), normalize]
    images = datasets.ImageFolder(arguments.folder + "/jpeg", transforms.Compose(steps))
    workers = int(arguments.mode.removeprefix("workers"))
    return torch.utils.data.DataLoader(
        images, batch_size=32, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )


class RandomRows(torch.utils.data.Dataset):
    def __init__(self):
        self.x, self.y = torch.randn(10_000, 100), torch.randint(0, 10, (10_000,))

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def loader():
    workers = int(arguments.mode.removeprefix("workers"))
    return torch.utils.data.DataLoader(
        RandomRows(), batch_size=128, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )


class PandasBatches:
    """The whole file by pandas.read_csv, as tensors, then slices; read anew in each pass."""

    def __iter__(self):
        table = pandas.read_csv(arguments.folder + "/rows.csv")
        y = torch.from_numpy(table["y"].to_numpy(copy=True))
        x = torch.from_numpy(table.drop(columns="y").to_numpy("float32", copy=True))
        for start in range(0, len(y), 1024):
            yield x[start : start + 1024], y[start : start + 1024]


make = {"pipeline-jpeg": jpeg, "pipeline-csv": PandasBatches, "pipeline-loader": loader}[arguments.workload]
name = "pandas" if arguments.mode == "pandas" else "DataLoader-" + arguments.mode.removeprefix("workers")
run(arguments, make, lambda batch: len(batch[1]), name, torch.__version__)
